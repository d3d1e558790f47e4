"""Give a ToolSandbox pack tools in Python, with any library: decorate functions and serve them.

    from toolsandbox.tools import World, serve, tool

    @tool(reads={"note": ["title"]}, writes=["note"], ids=1)
    def add_note(world: World, title: str, pages: int = 1) -> str:
        \"\"\"Writes a note down.

        Args:
            title: What it is called.
            pages: How many pages it has.
        \"\"\"
        world.add("note", note_id=world.ids[0], title=title, pages=pages)
        return world.ids[0]

    serve("localhost:9100")

and `tools: [{server: notes, address: "localhost:9100"}]` in the pack's pack.yaml. A tool keeps nothing between calls.
"""

from .serving import Server, serve
from .tool import Tool, Where, World, tool

__all__ = ["Server", "Tool", "Where", "World", "serve", "tool"]
