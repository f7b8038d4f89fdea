// Reads text vectors: lines with columns between bars, and the verbs that build a datagram. Code of the tests builds
// the packets, not code of the gateway.

import {
  type Attribute,
  buildAccountingRequest,
  buildRequest,
  type BuiltRequest,
  type RequestParts,
} from "../support/radius_packets.ts";
import type { Source } from "./whole_gateway.ts";

/** The lines of a file of vectors, split into columns. `#` begins a comment; every line must have `columns` columns. */
export async function readVectors(name: string, columns: number): Promise<string[][]> {
  const text = await Deno.readTextFile(new URL(`../vectors/${name}`, import.meta.url));
  const rows = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => line.split("|").map((column) => column.trim()));
  for (const row of rows) {
    if (row.length !== columns) throw new Error(`${name}: not ${columns} columns in "${row.join(" | ")}"`);
  }
  return rows;
}

/** `192.0.2.1:1024`, or `[2001:db8::1]:1024`. */
export function readSource(text: string): Source {
  const colon = text.lastIndexOf(":");
  return { hostname: text.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(text.slice(colon + 1)) };
}

interface Draft {
  parts: RequestParts;
  more: Attribute[];
  /** Changes of the finished octets, in order. */
  edits: ((octets: Uint8Array) => Uint8Array)[];
  raw: Uint8Array | null;
  /** An Accounting-Request with a right or wrong Request Authenticator; `null`: another packet. */
  accounting: "right" | "wrong" | null;
}

/** The action of a verb and its arguments; see the head of vectors/drops.txt. */
const VERBS: Readonly<Record<string, (draft: Draft, words: readonly string[]) => void>> = {
  code: (draft, [code]) => draft.parts = { ...draft.parts, code: Number(code) },
  acct: (draft, [how]) => draft.accounting = how === "wrong" ? "wrong" : "right",
  user: (draft, [name]) => draft.parts = { ...draft.parts, userName: name },
  password: (draft, [password]) => draft.parts = { ...draft.parts, password },
  state: (draft, [state]) => draft.parts = { ...draft.parts, state: new TextEncoder().encode(state) },
  sign: (draft, [place]) =>
    draft.parts = { ...draft.parts, messageAuthenticator: place as RequestParts["messageAuthenticator"] },
  attr: ({ more }, [type, hex = "-"]) =>
    more.push({ type: Number(type), value: Uint8Array.fromHex(hex === "-" ? "" : hex) }),
  attrs({ more }, [count, type, octets]) {
    const value = new Uint8Array(Number(octets)).fill(0x61);
    for (let i = 0; i < Number(count); i++) more.push({ type: Number(type), value });
  },
  append({ edits }, [hex = ""]) {
    edits.push((octets) => withLength(Uint8Array.from([...octets, ...Uint8Array.fromHex(hex)])));
  },
  length: ({ edits }, [length]) => edits.push((octets) => withLength(octets, Number(length))),
  pad: ({ edits }, [hex = ""]) =>
    edits.push((octets) => Uint8Array.from([...octets, ...Uint8Array.fromHex(hex)])),
  cut: ({ edits }, [to]) => edits.push((octets) => octets.slice(0, Number(to))),
  hex: (draft, [hex = ""]) => draft.raw = Uint8Array.fromHex(hex),
};

/** Builds a datagram from verbs between semicolons. `identifier` also makes the authenticator different. */
export function buildDatagram(
  script: string,
  { secret, identifier = 0 }: { secret: string; identifier?: number },
): Uint8Array {
  const authenticator = Uint8Array.from({ length: 16 }, (_, i) => i + 16 * (identifier & 7));
  const draft: Draft = {
    parts: { identifier, authenticator, messageAuthenticator: "none" },
    more: [],
    edits: [],
    raw: null,
    accounting: null,
  };
  for (const phrase of script.split(";")) {
    const [verb = "", ...words] = phrase.trim().split(/ +/);
    const act = VERBS[verb];
    if (act === undefined) throw new Error(`There is no verb "${verb}" in "${script}"`);
    act(draft, words);
  }
  const parts = { ...draft.parts, more: draft.more };
  const { bytes } = draft.accounting === null
    ? buildRequest(secret, parts)
    : buildAccountingRequest(secret, { ...parts, requestAuthenticator: draft.accounting });
  return draft.edits.reduce((octets, edit) => edit(octets), draft.raw ?? bytes);
}

/** A finished request in the form that the reply checker needs. */
export function asBuilt(bytes: Uint8Array): BuiltRequest {
  const proxyStates: Uint8Array[] = [];
  const end = (bytes[2] ?? 0) * 256 + (bytes[3] ?? 0);
  for (let at = 20; at + 2 <= end; at += Math.max(2, bytes[at + 1] ?? 0)) {
    if (bytes[at] === 33) proxyStates.push(bytes.slice(at + 2, at + (bytes[at + 1] ?? 0)));
  }
  const authenticator = bytes.slice(4, 20);
  return { bytes: Uint8Array.from(bytes), identifier: bytes[1] ?? 0, authenticator, proxyStates };
}

function withLength(octets: Uint8Array, length: number = octets.length): Uint8Array {
  const copy = Uint8Array.from(octets);
  copy.set([length >> 8, length & 0xff], 2);
  return copy;
}
