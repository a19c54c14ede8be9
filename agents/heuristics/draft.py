"""A draft: an operation with what it claims, before it has an id."""

from typing import Any, NamedTuple

from memory.edit import CriterionOperation, Operation

NEW = "new"
"""What new criteria and fields are called in a draft; the edit's id takes its place."""


class Draft(NamedTuple):
    operation: Operation
    claimed: tuple[str, ...] = ()
    secondary: tuple[CriterionOperation, ...] = ()

    def named(self, edit_id: str) -> "Draft":
        """The draft with its new criteria and fields called after the edit: distinct for all candidates of a call."""
        return self._replace(
            operation=_named(self.operation, edit_id), secondary=tuple(_named(o, edit_id) for o in self.secondary)
        )


def _named(operation: Any, edit_id: str) -> Any:
    def renamed(noun: Any) -> Any:
        return noun.model_copy(update={"id": edit_id + noun.id.removeprefix(NEW)})

    match operation.op:
        case "add_field":
            return operation.model_copy(update={"field": renamed(operation.field)})
        case "create_criterion" | "merge_criteria":
            return operation.model_copy(update={"criterion": renamed(operation.criterion)})
        case "split_criterion":
            return operation.model_copy(update={"criteria": tuple(renamed(c) for c in operation.criteria)})
    return operation
