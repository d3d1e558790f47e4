import sys

from toolsandbox.agent import Conversation, Reply, call, say, serve


def act(conversation: Conversation) -> Reply:
    if conversation.turn == 0:
        return call("set_wifi_status", on=False)
    return say("Wifi is off now.")


serve(act, sys.argv[1])
