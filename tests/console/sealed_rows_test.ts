// What administrators set up by name (log destinations, alert receivers): the laws of their fields, changes of two nodes, and damaged rows.

import { assertEquals } from "@std/assert";
import { RECEIVER_FIELDS } from "../../platform/alerts/alert_kinds.ts";
import {
  type AnyField,
  appliesTo,
  defaultsOf,
  type Fields,
  type OneChoice,
  withoutInapplicable,
} from "../../platform/fields.ts";
import { DESTINATION_FIELDS } from "../../platform/log_export/destination_choices.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { eventually } from "../upstream/manual_clock.ts";

type Body = Readonly<Record<string, unknown>>;

interface Resource {
  readonly fields: Fields & { readonly kind: OneChoice };
  /** The least body of each kind. */
  readonly least: Readonly<Record<string, Body>>;
  /** Texts that are valid where `least` has none, and texts that only the server can refuse. */
  readonly valid: Readonly<Record<string, string>>;
  readonly refused: readonly (readonly [kind: string, field: string, value: unknown, more?: Body])[];
  readonly path: string;
  readonly listPath: string;
  readonly prefix: string;
  readonly create: Readonly<Record<string, unknown>>;
  /** A change by this node, and one of another field by another node. */
  readonly own: Readonly<Record<string, unknown>>;
  readonly foreign: Readonly<Record<string, unknown>>;
}

const RESOURCES: readonly Resource[] = [
  {
    fields: DESTINATION_FIELDS,
    least: {
      syslog_tls: { host: "logs.example.com" },
      syslog_udp: { host: "logs.example.com" },
      webhook: { url: "https://hooks.example.com/in" },
    },
    valid: { authorization: "Splunk planted-1", privateKey: "-----BEGIN PRIVATE KEY----- planted-2" },
    refused: [
      ["syslog_tls", "host", "a b"],
      ["syslog_tls", "host", "http://logs.example.com"],
      ["syslog_tls", "ca", "not a certificate"],
      ["syslog_tls", "certificate", "not a certificate"],
      ["webhook", "url", "https://user:password@hooks.example.com/"],
      ["webhook", "url", "file:///etc/passwd"],
      ["webhook", "allowsHttp", false, { url: "http://hooks.example.com/" }],
      ["webhook", "authorization", "a\r\nx: y"],
    ],
    path: "/log-export",
    listPath: "/log-export",
    prefix: "log_export",
    create: { name: "one", kind: "webhook", url: "https://hooks.example.com/in" },
    own: { maxRecords: 5000 },
    foreign: { maxHours: 99 },
  },
  {
    fields: RECEIVER_FIELDS,
    least: {
      mail: { addresses: ["ops@example.com"] },
      webhook: { url: "https://hooks.example.com/planted-1" },
    },
    valid: {},
    refused: [
      ["mail", "addresses", ["a@example.com\r\nBcc: b@example.com"]],
      ["webhook", "url", "https://user:password@hooks.example.com/"],
      ["webhook", "url", "file:///etc/passwd"],
      ["webhook", "allowsHttp", false, { url: "http://hooks.example.com/" }],
    ],
    path: "/alerts/receivers",
    listPath: "/alerts/receivers",
    prefix: "alert_receiver",
    create: { name: "one", kind: "webhook", url: "https://hooks.example.com/in" },
    own: { language: "de" },
    foreign: { minSeverity: "critical" },
  },
];

interface StoredRow {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly createdMs: number;
  readonly version: number;
}

async function rowOf({ store }: Pick<TestComposition, "store">, prefix: string): Promise<StoredRow> {
  const { value } = await store.get<StoredRow>([prefix, "one"]);
  if (value === null) throw new Error("the row is not stored");
  return value;
}

/** Another process writes a row; the mirror of this node does not know it. */
async function write({ store }: TestComposition, prefix: string, value: unknown): Promise<void> {
  await store.commit({ mutations: [{ type: "set", key: [prefix, "one"], value }] });
}

/** Values that the type of a field refuses, and those that only its bounds refuse. */
function badValues(
  field: AnyField,
  kind: string,
): { readonly malformed: unknown[]; readonly bad: unknown[] } {
  switch (field.type) {
    case "text":
    case "secret":
      return {
        malformed: [7, null, "x".repeat(field.max + 1)],
        bad: field.isRequired === true ? [""] : [],
      };
    case "number":
      return { malformed: ["7", null], bad: [field.min - 1, field.max + 1, field.min + 0.5] };
    case "flag":
      return { malformed: ["true", null], bad: [] };
    case "list":
      return {
        malformed: ["x", [7], new Array(field.maxItems + 1).fill("a@example.com")],
        bad: (field.minItems ?? 0) > 0 ? [[]] : [],
      };
    case "choices":
      return { malformed: [["__proto__"], ["toString"]], bad: (field.min ?? 0) > 0 ? [[]] : [] };
    case "choice":
      return {
        malformed: ["", "__proto__"],
        bad: field.of.filter((one) => !appliesTo(field.only?.[one], { kind })),
      };
  }
}

for (const { fields, least, valid, refused, path, prefix } of RESOURCES) {
  for (const [kind, body] of Object.entries(least)) {
    const wanted = { name: "one", kind, ...body };
    const applying = Object.entries(fields).filter(([, { when }]) => appliesTo(when, { kind }));

    Deno.test(`POST ${path}, ${kind}: each field is refused beyond its type and its bounds, and the answer names it`, async () => {
      await using gateway = await openComposition();
      const answerOf = async (json: object) => {
        const { text } = await gateway.ask("POST", path, json);
        const { code, field } = JSON.parse(text).error ?? {};
        return field === undefined ? code : `${code}: ${field}`;
      };
      for (const [name, field] of applying) {
        const { malformed, bad } = badValues(field, kind);
        for (const value of malformed) {
          assertEquals(await answerOf({ ...wanted, [name]: value }), "malformed", `${name} ${value}`);
        }
        for (const value of bad) {
          assertEquals(
            await answerOf({ ...wanted, [name]: value }),
            `bad_field: ${name}`,
            `${name} ${value}`,
          );
        }
      }
      for (const [of, name, value, more] of refused) {
        if (of !== kind) continue;
        assertEquals(await answerOf({ ...wanted, ...more, [name]: value }), `bad_field: ${name}`, `${value}`);
      }
      for (const name of ["Upper", "a".repeat(41), "__proto__", ""]) {
        assertEquals(await answerOf({ ...wanted, name }), "malformed", name);
      }
      assertEquals(await answerOf({ ...wanted, unknown: 1 }), "malformed");
      assertEquals((await gateway.store.get([prefix, "one"])).value, null);
    });

    Deno.test(`PATCH ${path}, ${kind}: bounds are accepted, fields that do not apply keep their default, secrets are never shown`, async () => {
      await using gateway = await openComposition();
      const others = Object.fromEntries(
        Object.entries(fields).flatMap(([name, field]) =>
          appliesTo(field.when, { kind }) || field.type !== "text" ? [] : [[name, "ignored"]]
        ),
      );
      const secrets = Object.fromEntries(
        applying.flatMap(([name, { type }]) =>
          type === "secret" && name in valid ? [[name, valid[name]]] : []
        ),
      );
      const made = await gateway.ask("POST", path, { ...wanted, ...others, ...secrets });
      assertEquals(made.status, 200, made.text);
      const { webhookSecret } = JSON.parse(made.text);
      const { settings } = await rowOf(gateway, prefix);
      const defaults: Body = withoutInapplicable(fields, { ...defaultsOf(fields, { kind }), kind });
      const settable = Object.fromEntries(
        Object.entries(body).filter(([name]) => fields[name]?.type !== "secret"),
      );
      assertEquals(settings, { ...defaults, ...settable, isPaused: false });
      let version = 1;
      const change = async (change: object) => {
        const { status, code } = await gateway.ask("PATCH", `${path}/one`, { version, change });
        if (status === 200) version++;
        return code;
      };
      for (const [name, field] of applying) {
        if (field.type !== "number") continue;
        for (const value of [field.min, field.max]) {
          assertEquals(await change({ [name]: value }), null, name);
          assertEquals((await rowOf(gateway, prefix)).settings[name], value);
        }
        assertEquals(await change({ [name]: field.max + 1 }), "bad_field");
      }
      assertEquals(await change({ kind }), "malformed");
      const shown = [
        made.text.replaceAll(webhookSecret || "-", ""),
        (await gateway.ask("GET", path)).text,
        JSON.stringify(await gateway.audits()),
        await gateway.dump(),
      ];
      for (
        const secret of ["planted-", ...webhookSecret === "" ? [] : [webhookSecret, webhookSecret.slice(6)]]
      ) {
        assertEquals(shown.map((text) => text.includes(secret)), shown.map(() => false), secret);
      }
    });
  }
}

for (const { path, listPath, prefix, create, own, foreign } of RESOURCES) {
  Deno.test(`PATCH ${path} is merged into the row that the store has, not into an older mirror`, async () => {
    await using gateway = await openComposition();
    await gateway.ask("POST", path, create);
    const before = await rowOf(gateway, prefix);
    await write(gateway, prefix, { ...before, settings: { ...before.settings, ...foreign }, version: 2 });
    const late = await gateway.ask("PATCH", `${path}/one`, { version: 1, change: own });
    assertEquals([late.status, late.code], [409, "changed_meanwhile"]);
    const changed = await gateway.ask("PATCH", `${path}/one`, { version: 2, change: own });
    assertEquals(changed.status, 200);
    const { settings, version } = await rowOf(gateway, prefix);
    assertEquals([settings, version], [{ ...before.settings, ...foreign, ...own }, 3]);
    await gateway.ask("POST", `${path}/one/pause`, { paused: true });
    assertEquals((await rowOf(gateway, prefix)).settings, { ...settings, isPaused: true });
  });

  const DAMAGES: Readonly<Record<string, (row: StoredRow) => unknown>> = {
    "an octet of the secrets": ({ sealed, ...row }) => {
      const damaged = sealed.slice();
      damaged[20] = (damaged[20] ?? 0) ^ 1;
      return { ...row, sealed: damaged };
    },
    "the settings": (row) => ({ ...row, settings: { kind: 7 } }),
    "the whole row": () => "damaged",
  };
  for (const [what, damage] of Object.entries(DAMAGES)) {
    Deno.test(`${path}: ${what} is damaged: the list shows the row, others work, and it can be removed`, async () => {
      const kv = await Deno.openKv(":memory:");
      {
        await using gateway = await openComposition("", { joins: { kv, node: "first" } });
        await gateway.ask("POST", path, create);
        await gateway.ask("POST", path, { ...create, name: "two" });
        await write(gateway, prefix, damage(await rowOf(gateway, prefix)));
      }
      // A node that starts on the damaged store.
      await using gateway = await openComposition("", { joins: { kv, node: "second" } });
      const list = async () => {
        const { status, text } = await gateway.ask("GET", listPath);
        const items: { name: string; problem: { detail: string } | null }[] = JSON.parse(text).items;
        return [
          status,
          ...items.map(({ name, problem }) => [name, problem?.detail.includes("cannot be read")]),
        ];
      };
      assertEquals(await list(), [200, ["one", true], ["two", undefined]]);
      const codeOf = async (method: string, at: string, json?: unknown) =>
        (await gateway.ask(method, `${path}/${at}`, json)).code;
      assertEquals(await codeOf("PATCH", "one", { version: 1, change: own }), "unreadable_entry");
      assertEquals(await codeOf("POST", "one/secret", { version: 1 }), "unreadable_entry");
      assertEquals(await codeOf("PATCH", "two", { version: 1, change: own }), null);
      assertEquals((await gateway.ask("POST", path, create)).status, 409);
      assertEquals(await codeOf("DELETE", "one", {}), null);
      await eventually("the row is gone", async () => (await list()).length === 2);
      assertEquals((await gateway.ask("POST", path, create)).status, 200);
    });
  }
}
