"""An MCP server with the tools of the frameworks' agents, over stdio."""

import asyncio

from mcp.server import MCPServer

server = MCPServer("tools")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


@server.tool()
async def slow() -> str:
    """Work for a while."""
    await asyncio.sleep(0.1)
    return "worked"


if __name__ == "__main__":
    server.run()
