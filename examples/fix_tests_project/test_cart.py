from cart import total


def test_an_empty_cart_costs_nothing() -> None:
    assert total([]) == 0


def test_quantities_count() -> None:
    assert total([(2.50, 4), (1.25, 2)]) == 12.50


def test_a_total_has_whole_cents() -> None:
    assert total([(0.10, 3)]) == 0.30
