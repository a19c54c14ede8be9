"""The harness evolver: LangGraph nodes, the critic's statistics, prompts and chat models. Imports ``memory`` only."""
