// What the two embedded HTTP interfaces share: bodies with a cap, and JSON answers.

import { decodeForm } from "../percent_encoding.ts";

const MAX_BODY_OCTETS = 16 * 1024;

/** A JSON answer as the documents have it. */
export function jsonAnswer(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json; charset=utf-8", ...headers },
  });
}

/** The form of a request: pairs in order, `[]` without a body; `null` when it is no form or over 16 KiB. */
export async function readForm(request: Request): Promise<[string, string][] | null> {
  if (request.body === null) return [];
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";", 1);
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") return null;
  const text = await readCapped(request.body);
  return text === null ? null : decodeForm(text);
}

async function readCapped(stream: ReadableStream<Uint8Array>): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  let octets = 0;
  for await (const chunk of stream) {
    octets += chunk.length;
    if (octets > MAX_BODY_OCTETS) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The one value of a field; `null` when it is missing, empty, repeated or longer than `maxCharacters`. */
export function fieldOf(
  form: readonly (readonly [string, string])[],
  name: string,
  { maxCharacters = 256 } = {},
): string | null {
  const values = form.filter(([key]) => key === name).map(([, value]) => value);
  const [value = ""] = values;
  return values.length === 1 && value !== "" && value.length <= maxCharacters ? value : null;
}
