// Calls made out of names: the address, the method and the body that a server gets.

import { assertEquals } from "@std/assert";
import { calls } from "../../console/web/api_calls.ts";

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly type: string | null;
  readonly body: string;
}

type Get = (args?: object) => Promise<Response>;
interface Users {
  readonly index: { readonly $get: Get };
  readonly ":id": {
    readonly $put: Get;
    readonly groups: { readonly $get: Get };
  };
  readonly $get: Get;
}

async function seenBy(ask: (users: Users) => Promise<Response>): Promise<Seen> {
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const seen: Seen = {
      method: request.method,
      path: pathname + search,
      type: request.headers.get("content-type"),
      body: await request.text(),
    };
    return Response.json(seen);
  });
  const users = calls(`http://127.0.0.1:${server.addr.port}/users`) as Users;
  return await (await ask(users)).json();
}

Deno.test("calls() fills named segments and the query, and leaves out what is not there", async () => {
  assertEquals(
    await seenBy((users) =>
      users[":id"].groups.$get({ param: { id: "ada" }, query: { q: "a b", page: undefined, of: ["x", "y"] } })
    ),
    { method: "GET", path: "/users/ada/groups?q=a+b&of=x&of=y", type: null, body: "" },
  );
  assertEquals((await seenBy((users) => users.index.$get())).path, "/users");
});

Deno.test("calls() sends JSON with its type", async () => {
  assertEquals(await seenBy((users) => users[":id"].$put({ param: { id: "a" }, json: { on: true } })), {
    method: "PUT",
    path: "/users/a",
    type: "application/json",
    body: '{"on":true}',
  });
});

Deno.test("calls() lets no segment lead elsewhere, and escapes nothing twice", async () => {
  for (
    const [id, path] of [["../../session?x#y", "/users/..%2F..%2Fsession%3Fx%23y/groups"], [
      "a%20b",
      "/users/a%20b/groups",
    ]]
  ) {
    assertEquals((await seenBy((users) => users[":id"].groups.$get({ param: { id } }))).path, path);
  }
});

Deno.test("calls() is no promise", () => {
  assertEquals((calls("/x") as { then?: unknown }).then, undefined);
});
