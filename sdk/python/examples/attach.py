import sys

from toolsandbox.agent import Conversation, Reply, attach, call, say


def act(conversation: Conversation) -> Reply:
    if conversation.turn == 0:
        return call("set_wifi_status", on=False)
    return say("Wifi is off now.")


attach(act, sys.argv[1], "mine")
