"""The evolver as a tool: what the training loop calls every K steps and waits for."""

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from agents.context import RoundContext
from agents.evolver import HarnessEvolver

NAME = "evolve_harness"


class EvolveRequest(BaseModel):
    """Arguments of one call."""

    context: RoundContext = Field(description="where training stands and what the schedules allow")
    task_ids: list[str] = Field(description="flagged tasks, most in need first")
    thread: str = Field(description="names the round and the policy it is measured on; the same thread is resumed")


def evolver_tool(evolver: HarnessEvolver) -> StructuredTool:
    """``tool.invoke({...})`` runs one round and returns a ``RoundResult`` as plain data."""

    def evolve(context: RoundContext, task_ids: list[str], thread: str) -> dict:
        return evolver.run(context, task_ids, thread).model_dump(mode="json")

    return StructuredTool.from_function(
        evolve,
        name=NAME,
        description="Recall, attribute, propose and measure edits of the harness for the flagged tasks, on the frozen policy.",
        args_schema=EvolveRequest,
    )
