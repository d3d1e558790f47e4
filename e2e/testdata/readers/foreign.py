"""Writes a trajectory with harbor and a log with inspect_ai, as other tools do. The argument is the directory."""

import sys
from pathlib import Path

from harbor.models.trajectories.trajectory import Trajectory
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalSample, EvalSpec, write_eval_log
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser, ContentReasoning, ContentText, ModelUsage
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall, ToolCallError

to = Path(sys.argv[1])
trajectory = Trajectory(
    schema_version="ATIF-v1.8",
    session_id="session/1",
    agent={"name": "other-agent", "version": "2", "model_name": "some-model"},
    steps=[
        {"step_id": 1, "source": "system", "message": "Be helpful."},
        {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "What is it?"}, {"type": "image", "source": {"media_type": "image/png", "path": "x.png"}}]},
        {
            "step_id": 3,
            "source": "agent",
            "message": "",
            "reasoning_content": "hm",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "look", "arguments": {"path": "x.png"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "a cat"}]},
        },
        {"step_id": 4, "source": "agent", "message": "A cat."},
    ],
    final_metrics={"total_prompt_tokens": 12, "total_completion_tokens": 3, "total_cost_usd": 0.5},
)
(to / "trajectory.json").write_text(trajectory.model_dump_json(exclude_none=True))

log = EvalLog(
    status="success",
    eval=EvalSpec(created="2026-01-01T00:00:00+00:00", task="cats", dataset=EvalDataset(), model="mock/model", config=EvalConfig()),
    plan=EvalPlan(),
    samples=[
        EvalSample(
            id=sample,
            epoch=epoch,
            input="What is it?",
            target="cat",
            messages=[
                ChatMessageSystem(content="Be helpful."),
                ChatMessageUser(content="What is it? " + "It has a tail. " * 100),
                ChatMessageAssistant(
                    content=[ContentReasoning(reasoning="hm"), ContentText(text="I look.")],
                    tool_calls=[ToolCall(id="c1", function="look", arguments={"far": True}), ToolCall(id="c2", function="smell", arguments={})],
                ),
                ChatMessageTool(content="a cat", tool_call_id="c1", function="look"),
                ChatMessageTool(content="no nose", tool_call_id="c2", function="smell", error=ToolCallError("unknown", "no nose")),
                ChatMessageAssistant(content="A cat."),
            ],
            scores={"match": Score(value="C" if epoch == 1 else "I")},
            model_usage={"mock/model": ModelUsage(input_tokens=10, output_tokens=2)},
            total_time=1.5,
        )
        for sample in ("a cat", 2)
        for epoch in (1, 2)
    ],
)
write_eval_log(log, str(to / "log.eval"))
print("written")
