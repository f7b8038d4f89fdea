// The ids that a response with several users reads.

import { assertEquals } from "@std/assert";
import { readGroupsOnce } from "../../../../scim/v2/http/render_stored.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";

Deno.test("readGroupsOnce() reads each group once, also one that does not exist", async () => {
  const asked: string[] = [];
  const { directory } = readGroupsOnce({
    type: createTargetSchemas().types.user,
    baseUrl: "https://scim.example.com",
    directory: {
      readIds(_kind, names) {
        asked.push(...names);
        return Promise.resolve(names.map((name) => name === "gone" ? null : `id of ${name}`));
      },
    },
  });
  assertEquals(await directory.readIds("group", ["staff", "gone"]), ["id of staff", null]);
  assertEquals(await directory.readIds("group", ["gone", "board", "staff"]), [
    null,
    "id of board",
    "id of staff",
  ]);
  assertEquals(await directory.readIds("group", []), []);
  assertEquals(asked, ["staff", "gone", "board"]);
});
