"""An MCP server over stdin and stdout, a JSON object a line, without libraries.

For more than a few tools use a library of the protocol, such as the package mcp.
"""

import json
import sys

TOOLS = [
    {
        "name": "count_words",
        "description": "Counts the words of a text.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "Text to count the words of."}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    }
]


def call(name, arguments):
    """Runs a tool and returns its result as text."""
    if name == "count_words":
        return str(len(arguments["text"].split()))
    raise ValueError("There is no tool " + name + ".")


def answer(method, params):
    """Returns the result of a request."""
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "EXTENSION-NAME", "version": "0.1.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = call(params["name"], params.get("arguments") or {}), False
        except Exception as e:  # the model is told, and may mend its call
            text, failed = str(e), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    raise LookupError(method)


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue  # a notification wants no answer
        response = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            response["result"] = answer(request.get("method"), request.get("params") or {})
        except LookupError:
            response["error"] = {"code": -32601, "message": "method not found"}
        print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main()
