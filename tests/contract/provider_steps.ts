// Steps of the store scenario: identity providers, and resources with other names.

import type { ScenarioStep } from "./scenario.ts";

export const PROVIDER_STEPS: Readonly<Record<string, ScenarioStep>> = {
  async "a connection that is used, and one that is removed"({ gateway: { operator, connections } }) {
    const body = { kind: "okta", target: "default", secret: { kind: "token", days: 90 } };
    const { secret: { text } } = await operator.send<{ secret: { text: string } }>(
      "POST",
      "/connections",
      { ...body, name: "okta" },
    );
    await operator.send("POST", "/connections", { ...body, name: "entra" });
    await operator.send("DELETE", "/connections/entra");
    const okta = await connections.authenticate(`Bearer ${text}`, "192.0.2.60");
    if (okta === null) throw new Error("the token was refused");
    await connections.countDeletion(okta, 1);
    await connections.proposeAdoption(okta, { kind: "user", id: "1", name: "gerd", externalId: null });
    await operator.send("POST", "/connections/okta/matches", { decision: "accept", ids: "all" });
    connections.record({
      ...{ atMs: 0, connection: "okta", source: "192.0.2.60", method: "POST", operation: "users.create" },
      ...{ resource: null, status: 201, scimType: null, detail: null, attributes: [], durationMs: 1 },
      ...{ dryRun: false, userAgent: "" },
    });
    await operator.send("GET", "/connections/okta/requests");
  },
  async "a user and a group with other names"({ gateway: { targets } }) {
    const target = targets.get("default");
    const [user, group] = [
      await target?.directory.read("user", "lars"),
      await target?.directory.read("group", "staff"),
    ];
    const options = { actor: { name: "scim:hr", source: "192.0.2.50" } };
    if (user?.content.kind !== "user" || group?.content.kind !== "group") throw new Error("They are gone");
    const { attributes } = user.content;
    await target?.rename("user", "lars", { ...user.content, attributes, name: "laurids" }, options);
    const { attributes: values } = group.content;
    await target?.rename(
      "group",
      "staff",
      { ...group.content, attributes: values, name: "workforce" },
      options,
    );
  },
};
