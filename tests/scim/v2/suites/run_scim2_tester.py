# Runs scim2-tester against a server and prints its results as JSON: status, title and reason of each check.

import json
import os
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

http = httpx2.Client(
    base_url=sys.argv[1],
    headers={"Authorization": os.environ["SCIM_AUTHORIZATION"]},
    timeout=30,
)
results = check_server(SyncSCIMClient(http))
print(
    json.dumps(
        [
            {
                "status": result.status.name,
                "title": result.title,
                "resource": result.resource_type or "",
                "reason": str(result.reason or "")[:600],
            }
            for result in results
        ]
    )
)
