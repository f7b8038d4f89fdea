// Reply attributes of groups, which replace those of the default, as octets.

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { AcceptAttributes } from "../../radius/factors/reply_attributes.ts";

type Table = Readonly<Record<string, string | number>>;

function attributes(replyDefault: Table, groups: readonly (readonly [string, Table])[]) {
  let looked = 0;
  const made = new AcceptAttributes({
    settings: {
      replyDefault,
      replyGroups: groups.map(([group, attributes]) => ({ group, attributes })),
      replyFromDirectory: {},
    },
    directory: {
      lookUp(name) {
        looked++;
        return { status: "active", name, phoneNumbers: [], groups: name.split("+") };
      },
    },
  });
  return {
    of: (user: string) => made.of(user).octets,
    text: (user: string) => textOf(made.of(user).octets),
    looked: () => looked,
  };
}

/** Class and Filter-Id as text, by type. */
function textOf(octets: Uint8Array): string[] {
  const texts: string[] = [];
  for (let at = 0; at < octets.length; at += octets[at + 1] ?? 255) {
    const value = octets.subarray(at + (octets[at] === 26 ? 8 : 2), at + (octets[at + 1] ?? 0));
    texts.push(`${octets[at]} ${new TextDecoder().decode(value)}`);
  }
  return texts;
}

Deno.test("AcceptAttributes does not query the directory when no group has attributes", () => {
  const { of, looked } = attributes({ Class: "all" }, []);
  assertStrictEquals(of("anna"), of("bert"));
  assertEquals([textOf(of("anna")), looked()], [["25 all"], 0]);
});

Deno.test("AcceptAttributes returns the same octets for all users with the same groups", () => {
  const { of } = attributes({ Class: "all" }, [["a", { Class: "a" }], ["b", { "Filter-Id": "b" }]]);
  assertStrictEquals(of("a+b"), of("b+a+x"));
  assertStrictEquals(of("x"), of("y"));
});

const BY_USER: readonly (readonly [user: string, carries: readonly string[]])[] = [
  ["x", ["25 all", "26 one", "26 two"]],
  ["a", ["25 a", "26 one", "26 two"]],
  ["A", ["25 a", "26 one", "26 two"]],
  ["b", ["25 b", "26 one", "26 two", "11 b"]],
  ["b+a", ["25 a", "26 one", "26 two", "11 b"]],
  ["c", ["25 all", "26 three"]],
  ["Ä", ["25 ä", "26 one", "26 two"]],
];

Deno.test("AcceptAttributes replaces a default attribute by a group's attribute, and of two groups uses the first", () => {
  const { text } = attributes({ Class: "all", "Cisco-AVPair": "one", "26.9.1": "two" }, [
    ["a", { Class: "a" }],
    ["B", { Class: "b", "Filter-Id": "b" }],
    ["c", { "26.9.1": "three" }],
    ["a\u0308", { Class: "ä" }],
  ]);
  for (const [user, carries] of BY_USER) assertEquals(text(user), carries, user);
});

Deno.test("AcceptAttributes refuses an attribute that cannot be encoded at the start, not at a login", () => {
  assertThrows(() => attributes({}, [["a", { "No-Such-Thing": "x" }]]), Error, "No-Such-Thing");
});

Deno.test("a group with `all` adds its values to those of groups before it, if they may be repeated", () => {
  const groups = [
    { group: "a", attributes: { Class: "a", "Session-Timeout": 1, "Fortinet-Group-Name": ["x", "y"] } },
    {
      group: "b",
      attributes: { Class: "b", "Session-Timeout": 2, "Fortinet-Group-Name": "y" },
      groups: "all",
    },
    { group: "c", attributes: { Class: "c", "Fortinet-Group-Name": "z" } },
  ] as const;
  const made = new AcceptAttributes({
    settings: { replyDefault: { Class: "all" }, replyGroups: groups, replyFromDirectory: {} },
    directory: { lookUp: (name) => ({ status: "active", name, phoneNumbers: [], groups: name.split("+") }) },
  });
  const shown = (user: string) => textOf(made.of(user).octets).filter((one) => !one.startsWith("27 "));
  assertEquals(shown("a+b+c"), ["25 a", "25 b", "26 x", "26 y"]);
  assertEquals(shown("a+c"), ["25 a", "26 x", "26 y"]);
  assertEquals(shown("b+c"), ["25 b", "26 y"]);
  assertEquals(made.of("a+b").octets.filter((octet) => octet === 27).length, 1);
});

Deno.test("attributes of the directory replace those of groups, those of the user replace them, and those of a policy all", () => {
  const warnings: string[] = [];
  const made = new AcceptAttributes({
    settings: {
      replyDefault: { Class: "all" },
      replyGroups: [{ group: "g", attributes: { Class: "group", "Filter-Id": "group" } }],
      replyFromDirectory: { "Filter-Id": "filter", "Framed-IP-Address": "ip" },
    },
    directory: {
      lookUp: (name) => ({
        ...{ status: "active", name, phoneNumbers: [], groups: ["g"], id: `id of ${name}` },
        ...name === "ben"
          ? {}
          : { replies: { "Filter-Id": ["directory"], "Framed-IP-Address": ["nonsense"] } },
      }),
    },
    onUnfit: (user, attribute) => void warnings.push(`${user} ${attribute}`),
  });
  const shown = (user: string, policy?: Table) => textOf(made.of(user, policy).octets);
  assertEquals(shown("ada"), ["25 group", "11 directory"]);
  assertEquals(warnings, ["ada Framed-IP-Address"]);
  assertEquals(shown("ben"), ["25 group", "11 group"]);
  made.replaceUsers({
    size: 1,
    of: (_user, id) => id === "id of ada" ? { "Filter-Id": ["own", "two"] } : undefined,
  });
  assertEquals(shown("ada"), ["25 group", "11 own", "11 two"]);
  assertEquals(shown("ben"), ["25 group", "11 group"]);
  assertEquals(shown("ada", { "Filter-Id": "policy" }), ["25 group", "11 policy"]);
  assertEquals(made.of("ada").sources, ["group", "user", "user"]);
  assertEquals(made.of("ada", { Class: ["a", "b"] }).sources, ["policy", "policy", "user", "user"]);
});
