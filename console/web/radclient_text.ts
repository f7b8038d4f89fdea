// A request as the lines that FreeRADIUS's radclient reads: to play it again by hand. The user has to fill in the masked values.

import type { PacketRecord } from "../../radius/ports.ts";

/** Attributes that radclient makes itself, or that only mean something to the packet they were in. */
const NOT_COPIED = new Set([
  "Message-Authenticator",
  "Proxy-State",
  "Code",
  "Identifier",
  "Length",
  "Authenticator",
]);

/** One attribute a line, after the command that reads them. @param port where the gateway listens. */
export function radclientText({ rows }: Pick<PacketRecord, "rows">, port: number): string {
  const command = `radclient -x <address>:${port} auth "<shared secret>"`;
  const lines = rows.flatMap((row) => {
    if (row.type === null || NOT_COPIED.has(row.name) || row.name.includes(" ")) return [];
    if (row.masked) return row.name === "User-Password" ? ['User-Password = "<password>"'] : [];
    const value = row.kind === "text" ? quoted(row.value) : row.value.split(" ")[0] ?? "";
    return [`${row.name} = ${value}`];
  });
  return [`# ${command}`, ...lines, "Message-Authenticator = 0x00", ""].join("\n");
}

/** Nothing that a client sent may end the text or the line. */
function quoted(value: string): string {
  let safe = "";
  for (const one of value) {
    const code = one.charCodeAt(0);
    if (code < 0x20 || code === 0x7f) safe += `\\${code.toString(8).padStart(3, "0")}`;
    else safe += one === '"' || one === "\\" ? `\\${one}` : one;
  }
  return `"${safe}"`;
}
