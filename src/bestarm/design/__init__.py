"""How to split a budget in advance: objective × solver × rounding, and the plans made of them."""
