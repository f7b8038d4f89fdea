// Tests of the tests' own passcodes with RFC 6238 Appendix B, of whose eight digits they use the last six.

import { assertEquals } from "@std/assert";
import { totpCode } from "./totp.ts";

const VECTORS: readonly [seconds: number, code: string][] = [
  [59, "287082"],
  [1111111109, "081804"],
  [1111111111, "050471"],
  [1234567890, "005924"],
  [2000000000, "279037"],
  [20000000000, "353130"],
];

Deno.test("totpCode() returns the codes of RFC 6238 Appendix B", () => {
  for (const [seconds, code] of VECTORS) {
    assertEquals(totpCode("12345678901234567890", seconds * 1000), code);
  }
});
