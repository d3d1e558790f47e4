"""Loans of a library."""

from typing import Any, Dict, List, Union

DAY = 86400.0


def search_loans(title: Union[str, NotGiven] = NOT_GIVEN) -> List[Dict[str, Any]]:
    """Lists the books that are borrowed.

    Args:
        title: Words of the title; left out for all loans.

    Returns:
        The loans, each with loan_id, title and due.
    """
    return world.rows("loan", title__about=title)


def extend_loan(loan_id: str, days: int) -> float:
    """Lets a book be kept longer.

    Args:
        loan_id: Id of the loan.
        days: For how many days more, at most 28.

    Returns:
        When the book has to be back, in POSIX seconds.

    Raises:
        ValueError: If that is too long.
    """
    if days < 1 or days > 28:
        raise ValueError("A loan is extended by 1 to 28 days")
    loans = world.rows("loan", loan_id=loan_id)
    if not loans:
        raise ValueError(f"There is no loan {loan_id}")
    due = loans[0]["due"] + days * DAY
    world.update("loan", {"due": due}, loan_id=loan_id)
    return due


def return_book(loan_id: str) -> None:
    """Takes a book back.

    Args:
        loan_id: Id of the loan.
    """
    world.remove("loan", loan_id=loan_id)
