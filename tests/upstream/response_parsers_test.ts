// The faults for HTTP statuses, and the masking of texts from services.

import { assertEquals } from "@std/assert";
import type { Fault } from "../../radius/ports.ts";
import { faultOfStatus, maskDetail } from "../../upstream/http/service_caller.ts";

const ERROR = { code: 601, detail: "said so" };

const STATUSES: readonly { status: number; retryAfter?: string; fault: Fault }[] = [
  { status: 301, fault: { kind: "unreachable", sent: true, detail: "redirected (HTTP 301)" } },
  { status: 307, fault: { kind: "unreachable", sent: true, detail: "redirected (HTTP 307)" } },
  { status: 400, fault: { kind: "refused", status: 400, ...ERROR } },
  { status: 401, fault: { kind: "refused", status: 401, ...ERROR } },
  { status: 404, fault: { kind: "unknown", ...ERROR } },
  { status: 409, fault: { kind: "refused", status: 409, ...ERROR } },
  { status: 429, fault: { kind: "busy", retryAfterMs: 0, detail: "said so" } },
  { status: 429, retryAfter: "7", fault: { kind: "busy", retryAfterMs: 7000, detail: "said so" } },
  { status: 429, retryAfter: "999999", fault: { kind: "busy", retryAfterMs: 3_600_000, detail: "said so" } },
  { status: 429, retryAfter: "-1", fault: { kind: "busy", retryAfterMs: 0, detail: "said so" } },
  {
    status: 429,
    retryAfter: "Wed, 21 Oct 2037 07:28:00 GMT",
    fault: { kind: "busy", retryAfterMs: 0, detail: "said so" },
  },
  { status: 500, fault: { kind: "failed", status: 500, detail: "said so" } },
  { status: 503, fault: { kind: "failed", status: 503, detail: "said so" } },
];
for (const { status, retryAfter = null, fault } of STATUSES) {
  Deno.test(`faultOfStatus() maps ${status}${retryAfter === null ? "" : ` and ${retryAfter}`} to ${fault.kind}`, () => {
    assertEquals(faultOfStatus(status, { error: ERROR, retryAfter }), fault);
  });
}

const DETAILS: readonly { name: string; text: string; secrets?: string[]; clean: string }[] = [
  { name: "keeps plain text", text: "Not Found", clean: "Not Found" },
  { name: "removes line breaks and escapes", text: "a\r\nb\u001b[31mc\u202e", clean: "a b [31mc " },
  {
    name: "masks a secret",
    text: "bad phrase maple river",
    secrets: ["maple river"],
    clean: "bad phrase …",
  },
  {
    name: "masks long numbers",
    text: "code 123456 to +15005550001, error 12",
    clean: "code … to +…, error 12",
  },
  { name: "cuts a long text", text: "x".repeat(500), clean: "x".repeat(200) },
  { name: "replaces a lone surrogate", text: "a\ud800b", clean: "a\ufffdb" },
];
for (const { name, text, secrets, clean } of DETAILS) {
  Deno.test(`maskDetail() ${name}`, () => assertEquals(maskDetail(text, secrets), clean));
}
