# Uses scim2-client as an identity provider would: it discovers the server, then creates, reads, searches, replaces,
# patches and deletes users and groups, and sends a bulk request. scim2-client checks each answer against the schemas that
# the server publishes, and raises an error for any deviation. Prints the steps that were done, as JSON.

import json
import os
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import Error, PatchOp, PatchOperation, ResponseParameters, SearchRequest

http = httpx2.Client(
    base_url=sys.argv[1],
    headers={"Authorization": os.environ["SCIM_AUTHORIZATION"]},
    timeout=30,
)
scim = SyncSCIMClient(http)
steps: list[str] = []


def done(step: str, is_right: bool) -> None:
    if not is_right:
        raise SystemExit(f"wrong result of: {step}")
    steps.append(step)


scim.discover()
User = scim.get_resource_model("User")
Group = scim.get_resource_model("Group")
done("discover", User is not None and Group is not None)

users = [
    scim.create(
        User(
            user_name=f"client{index}@example.com",
            external_id=f"client-{index}",
            active=True,
            name={"givenName": "Client", "familyName": f"Number {index}"},
            emails=[{"value": f"client{index}@example.com", "type": "work", "primary": True}],
        )
    )
    for index in range(5)
]
done("create users", all(user.id and user.meta.location for user in users))

first = users[0]
done("get a user", scim.query(User, first.id).user_name == first.user_name)
partial = scim.query(User, first.id, ResponseParameters(attributes=["userName"]))
done("get with attributes", partial.user_name == first.user_name and partial.name is None)

page = scim.query(User, query_parameters=SearchRequest(start_index=2, count=2, sort_by="userName"))
done("list a page", page.total_results == 5 and len(page.resources) == 2)
found = scim.query(User, query_parameters=SearchRequest(filter='userName eq "CLIENT3@example.com"'))
done("filter", [user.id for user in found.resources] == [users[3].id])
searched = scim.search(User, SearchRequest(filter='emails[type eq "work" and value sw "client4"]'))
done("search with POST", [user.id for user in searched.resources] == [users[4].id])

first.display_name = "First Client"
replaced = scim.replace(first)
done("replace", replaced.display_name == "First Client" and replaced.id == first.id)

operations = [
    PatchOperation(op=PatchOperation.Op.replace_, path="active", value=False),
    PatchOperation(op=PatchOperation.Op.add, path="nickName", value="nick"),
]
scim.modify(User, first.id, PatchOp[User](operations=operations))
patched = scim.query(User, first.id)
done("patch", patched.active is False and patched.nick_name == "nick")

group = scim.create(Group(display_name="Clients", members=[{"value": users[1].id}]))
done("create a group", [member.value for member in group.members] == [users[1].id])
member = [PatchOperation(op=PatchOperation.Op.add, path="members", value=[{"value": users[2].id}])]
scim.modify(Group, group.id, PatchOp[Group](operations=member))
members = {one.value for one in scim.query(Group, group.id).members}
done("add a member", members == {users[1].id, users[2].id})
gone = [PatchOperation(op=PatchOperation.Op.remove, path=f'members[value eq "{users[1].id}"]')]
scim.modify(Group, group.id, PatchOp[Group](operations=gone))
done("remove a member", [one.value for one in scim.query(Group, group.id).members] == [users[2].id])
done("groups of a user", [one.value for one in scim.query(User, users[2].id).groups] == [group.id])

answer = scim.bulk(
    {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
        "Operations": [
            {
                "method": "POST",
                "path": "/Users",
                "bulkId": "new",
                "data": {
                    "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
                    "userName": "bulk@example.com",
                },
            },
            {
                "method": "POST",
                "path": "/Groups",
                "bulkId": "group",
                "data": {
                    "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
                    "displayName": "Bulk",
                    "members": [{"value": "bulkId:new"}],
                },
            },
        ],
    },
    check_request_payload=False,
)
done("bulk", [str(operation.status) for operation in answer.operations] == ["201", "201"])

duplicate = scim.create(User(user_name=users[1].user_name), raise_scim_errors=False)
done("duplicate", isinstance(duplicate, Error) and duplicate.status == 409 and duplicate.scim_type == "uniqueness")

for user in users:
    scim.delete(User, user.id)
scim.delete(Group, group.id)
missing = scim.query(User, first.id, raise_scim_errors=False)
done("delete", isinstance(missing, Error) and missing.status == 404)

print(json.dumps(steps))
