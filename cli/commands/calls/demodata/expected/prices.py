"""Prices of a small shop, in cents."""

PRICES = {
    "apple": 40,
    "bread": 250,
    "cheese": 480,
    "milk": 120,
}


def price(item):
    """Return the price of one item."""
    return PRICES[item]


def total(items):
    """Return the price of all items."""
    return sum(price(item) for item in items)


def discount(amount, percent):
    """Return the amount after a discount."""
    return amount - amount * percent // 100


def format_amount(amount):
    """Return an amount as text, as 2.50."""
    return "%d.%02d" % (amount // 100, amount % 100)
