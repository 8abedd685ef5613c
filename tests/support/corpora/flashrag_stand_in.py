"""In the place of FlashRAG's process: loads, then does with each request what its query says."""

import json
import sys
import time


def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def passage(query, n):
    return {"document": {"id": n, "contents": f"{query}\n{n}"}, "score": -n}


settings = json.loads(sys.stdin.readline())
if settings.get("fails"):
    answer({"error": "Warning: Index file x does not exist!"})
    sys.exit(0)
answer({"ready": {"settings": settings}})
for line in sys.stdin:
    query, k = json.loads(line)["query"], json.loads(line)["k"]
    if query == "die":
        sys.exit(7)
    if query == "hang":
        time.sleep(3600)
    if query == "fail":
        answer({"error": "RuntimeError: out of memory"})
    else:
        answer({"result": [[passage(query, n) for n in range(k)]]})
