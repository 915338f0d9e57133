"""Prices of a small shop, in cents."""

PRICES = {
    "apple": 40,
    "bread": 250,
    "milk": 120,
}


def price(item):
    """Return the price of one item."""
    return PRICES[item]


def total(items):
    """Return the price of all items."""
    result = 0
    for item in items:
        result = result + price(item)
    return result


def discount(amount, percent):
    """Return the amount after a discount."""
    return amount - amount * percent / 100


def format_cents(amount):
    """Return an amount as text, as 2.50."""
    return "%d.%02d" % (amount // 100, amount % 100)
