"""Prints the queries of the Grafana dashboard as recording rules, which promtool can check: `dashboard.py DASHBOARD.json`."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    panels = json.load(file)["panels"]
variables = {"$__rate_interval": "5m", "$instance": ".*"}
rules = []
for panel in panels:
    for target in panel.get("targets", []):
        query = target["expr"]
        for name, value in variables.items():
            query = query.replace(name, value)
        rules.append({"record": f"panel:{panel['id']}:{target['refId']}", "expr": query})
if len(rules) < 20 or len({rule["record"] for rule in rules}) != len(rules):
    sys.exit(f"found {len(rules)} queries, but expected at least 20 with unique panel and query IDs")
json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)
