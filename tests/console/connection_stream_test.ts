// The event connection_request of the live stream.

import { readUntil } from "../fakes/stream_text.ts";
import { assert, assertEquals } from "@std/assert";
import type { ConnectionRequestEvent } from "../../console/api/connections/connection_types.ts";
import { MAX_EVENT_REQUESTS } from "../../console/api/conversations/live_routes.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { requestEntry } from "../scim/v2/connections/stage.ts";

Deno.test("GET /live/stream has the requests of connections as events, at most a hundred each", async () => {
  await using site = await startConnectConsole();
  const cookie = await site.signIn("viewer");
  const stream = await site.call("/console/api/live/stream", { cookie });
  if (stream.body === null) throw new Error("the answer has no body");
  const reader = stream.body.getReader();
  await readUntil(reader, "retry");
  const count = MAX_EVENT_REQUESTS + 50;
  for (let at = 1; at <= count; at++) {
    site.connections.record(requestEntry({ resource: { kind: "user", id: "1", name: `user-${at}` } }));
  }
  const text = await readUntil(reader, `"user-${count}"`);
  const [, data = "{}"] = /^event: connection_request\ndata: (.*)$/m.exec(text) ?? [];
  const { rows, lost }: ConnectionRequestEvent = JSON.parse(data);
  assert(rows.length <= MAX_EVENT_REQUESTS, `${rows.length}`);
  assertEquals([rows.at(-1)?.resource?.name, rows.length + lost], [`user-${count}`, count]);
  assertEquals(rows.at(-1)?.connection, "okta");
  await reader.cancel();
});
