// Files of seeds: PSKC and CSV.

import { assert, assertEquals, assertNotMatch } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { MAX_SEED_FILE_CHARACTERS, readSeedFile } from "../../../radius/tokens/files/seed_csv.ts";
import type { SeedFileOptions } from "../../../radius/tokens/files/seed_rows.ts";
import { BASE32, figure, KEY, NO_OPTIONS, read, rowsOf, SEED } from "./seed_reading.ts";
import { SEED_TABLES } from "./seed_tables.ts";

// Seed files: the examples of RFC 6030, the CSV forms of vendors, and hostile files.

/** RFC 6030: the figure, the options, and what is read. */
const FIGURES: readonly (readonly [number, Partial<SeedFileOptions>, readonly string[]])[] = [
  // Its example secret has four octets.
  [2, {}, ["12345678: short_seed"]],
  [3, {}, [`987654321 of UID=jsmith,DC=example-bank,DC=net: hotp 8 at 0 SHA1 ${SEED}`]],
  // The second key is the PIN of the first.
  [5, {}, [`987654321: hotp 8 at 0 SHA1 ${SEED}`, "987654321: other_kind"]],
  [6, { key: KEY }, [`987654321: hotp 8 at 0 SHA1 ${SEED}`]],
  [6, { key: "1234-5678 9012 34567890123456789012" }, [`987654321: hotp 8 at 0 SHA1 ${SEED}`]],
  [6, {}, ["needs_key"]],
  [6, { key: `${KEY.slice(2)}00` }, ["wrong_key"]],
  [6, { key: "not a key" }, ["bad_key"]],
  [7, { password: "qwerty" }, [`987654321: hotp 8 at 0 SHA1 ${SEED}`]],
  [7, { password: "qwertz" }, ["wrong_key"]],
  [7, { key: KEY }, ["needs_password"]],
  // The key of a certificate.
  [8, {}, ["unknown_encryption"]],
  [9, {}, [`0755225266: hotp 6 at 0 SHA1 ${SEED}`]],
  [10, {}, [
    ...["654321", "123456", "9999999"].map((serial) => `${serial}: hotp 8 at 0 SHA1 ${SEED}`),
    "9999999: repeated",
  ]],
];
for (const [number, options, expected] of FIGURES) {
  Deno.test(`PSKC: figure ${number} of RFC 6030 with ${JSON.stringify(options)} gives ${expected[0]}`, async () => {
    assertEquals(await rowsOf(await figure(number), options), expected);
  });
}

Deno.test("PSKC: the validity period of figure 10 is read, unless it is ignored (RFC 6030 §5)", async () => {
  const period = async (options: Partial<SeedFileOptions>) => {
    const file = await read(await figure(10), options);
    const token = file.ok ? file.rows[0]?.token : null;
    return [token?.validFromMs, token?.validToMs];
  };
  assertEquals(await period({}), [Date.UTC(2006, 4, 1), Date.UTC(2006, 4, 31)]);
  assertEquals(await period({ ignoreValidity: true }), [null, null]);
});

Deno.test("PSKC: figure 9 is signed, and figure 3 is not", async () => {
  const signed = async (number: number) => {
    const file = await read(await figure(number));
    return file.ok && file.isSigned;
  };
  assertEquals([await signed(9), await signed(3)], [true, false]);
});

/** Changes of figure 6, each with the problem. */
const CHANGED: readonly (readonly [string, string, string, string])[] = [
  ["a changed value", "AAECAwQFBgcICQoLDA0OD+", "AAECAwQFBgcICQoLDA0OE+", "wrong_key"],
  ["a changed MAC", "Su+NvtQfmvfJzF6b", "Su+NvtQfmvfJzF6c", "wrong_key"],
  [
    "no MAC",
    "<ValueMAC>Su+NvtQfmvfJzF6bmQiJqoLRExc=\n                    </ValueMAC>",
    "",
    "987654321: no_mac",
  ],
  ["a MAC over another hash", "xmldsig#hmac-sha1", "xmldsig-more#hmac-sha256", "wrong_key"],
  ["an unknown MAC", "xmldsig#hmac-sha1", "xmldsig#hmac-md5", "unknown_encryption"],
  ["an unknown cipher of the MAC key", "xmlenc#aes128-cbc", "xmlenc#tripledes-cbc", "unknown_encryption"],
  ["another key length", "xmlenc#aes128-cbc", "xmlenc#aes256-cbc", "wrong_key"],
];
for (const [what, from, to, expected] of CHANGED) {
  Deno.test(`PSKC: figure 6 with ${what} gives ${expected}`, async () => {
    const text = (await figure(6)).replace(from, to);
    assert(text !== await figure(6), "the figure was changed");
    assertEquals(await rowsOf(text, { key: KEY }), [expected]);
  });
}

/** A plain container with one token, whose parts a row replaces. */
function container(
  {
    head = "",
    algorithm = "totp",
    params = '<ResponseFormat Length="6" Encoding="DECIMAL"/>',
    data = "",
    policy = "",
    seed = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=",
  } = {},
): string {
  return `<?xml version="1.0"?>
<p:KeyContainer Version="1.0" xmlns:p="urn:ietf:params:xml:ns:keyprov:pskc">${head}
<p:KeyPackage><p:DeviceInfo><p:Manufacturer>Feitian &amp; Co</p:Manufacturer><p:SerialNo>S-1</p:SerialNo></p:DeviceInfo>
<p:Key Id="1" Algorithm="urn:ietf:params:xml:ns:keyprov:pskc:${algorithm}">
<p:AlgorithmParameters>${params}</p:AlgorithmParameters>
<p:Data><p:Secret><p:PlainValue>${seed}</p:PlainValue></p:Secret>${data}</p:Data>${policy}
</p:Key></p:KeyPackage></p:KeyContainer>`.replaceAll(/<(\/?)(?!\?|p:|!)(\w)/g, "<$1p:$2");
}
const policy = (content: string) => `<Policy>${content}</Policy>`;
const plain = (name: string, value: string) => `<${name}><PlainValue>${value}</PlainValue></${name}>`;

/** What a container says about a token, and what is read. */
const CONTAINERS: readonly (readonly [string, Parameters<typeof container>[0], string])[] = [
  ["a time step of 60 s", { data: plain("TimeInterval", "60") }, `S-1: totp 6 60 s SHA1 ${SEED}`],
  ["no time step", {}, `S-1: totp 6 30 s SHA1 ${SEED}`],
  ["a suite", { params: "<Suite>HMAC-SHA256</Suite>" }, `S-1: totp 6 30 s SHA256 ${SEED}`],
  ["an unknown suite", { params: "<Suite>HMAC-MD5</Suite>" }, "S-1: bad_algorithm"],
  ["a counter", { algorithm: "hotp", data: plain("Counter", "42") }, `S-1: hotp 6 at 42 SHA1 ${SEED}`],
  ["a counter of 2^33", { algorithm: "hotp", data: plain("Counter", "8589934592") }, "S-1: bad_counter"],
  ["OCRA", { algorithm: "ocra" }, "S-1: other_kind"],
  ["T0", { data: plain("Time", "7") }, "S-1: start_time"],
  ["ten digits", { params: '<ResponseFormat Length="10" Encoding="DECIMAL"/>' }, "S-1: bad_digits"],
  [
    "codes in hexadecimal",
    { params: '<ResponseFormat Length="6" Encoding="HEXADECIMAL"/>' },
    "S-1: not_decimal",
  ],
  [
    "check digits",
    { params: '<ResponseFormat Length="6" Encoding="DECIMAL" CheckDigits="true"/>' },
    "S-1: not_decimal",
  ],
  [
    "a seed whose end is missing",
    { seed: "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA" },
    "S-1: bad_seed",
  ],
  [
    "a policy about a local PIN",
    { policy: policy('<PINPolicy PINUsageMode="Local"/>') },
    `S-1: totp 6 30 s SHA1 ${SEED}`,
  ],
  ["a PIN in the code", { policy: policy('<PINPolicy PINUsageMode="Append"/>') }, "S-1: other_policy"],
  [
    "a number of uses",
    { policy: policy("<NumberOfTransactions>5</NumberOfTransactions>") },
    "S-1: other_policy",
  ],
  ["an unknown policy", { policy: policy("<Vendor/>") }, "S-1: other_policy"],
  [
    "an end that cannot be read",
    { policy: policy("<ExpiryDate>31.12.2030</ExpiryDate>") },
    "S-1: bad_validity",
  ],
  ["another use", { policy: "<Policy><KeyUsage>Encrypt</KeyUsage></Policy>" }, "S-1: key_usage"],
];
for (const [what, parts, expected] of CONTAINERS) {
  Deno.test(`PSKC: a container with ${what} gives ${expected}`, async () => {
    assertEquals(await rowsOf(container(parts)), [expected]);
  });
}

/** XML that must be refused. */
const HOSTILE: readonly (readonly [string, string, string])[] = [
  ["a document type definition", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "has_doctype"],
  [
    "an external entity",
    '<?xml version="1.0"?>\n<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>',
    "has_doctype",
  ],
  ["an unknown entity", container().replace("S-1", "&lol;"), "broken_xml"],
  ["a tag that is not closed", container().replace("</p:KeyContainer>", ""), "broken_xml"],
  ["deep nesting", `${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}`, "broken_xml"],
  ["many elements in one package", container({ data: "<a/>".repeat(10_000) }), "broken_xml"],
  [
    "many attributes",
    `<KeyContainer ${Array.from({ length: 30_000 }, (_, at) => `a${at}=""`).join(" ")}/>`,
    "broken_xml",
  ],
  ["101 attributes", `<a ${Array.from({ length: 101 }, (_, at) => `a${at}=""`).join(" ")}/>`, "broken_xml"],
  ["another root", "<html></html>", "unknown_format"],
  ["another namespace", container().replace('ns:keyprov:pskc"', 'ns:other"'), "unknown_format"],
  ["no package", '<KeyContainer Version="1.0" xmlns="urn:ietf:params:xml:ns:keyprov:pskc"/>', "empty_file"],
];
for (const [what, text, expected] of HOSTILE) {
  Deno.test(`PSKC: ${what} is refused as ${expected}`, async () => {
    assertEquals(await rowsOf(text), [expected]);
  });
}

Deno.test("PSKC: a derivation with two billion iterations is refused before it starts", async () => {
  const text = (await figure(7)).replace("<IterationCount>1000<", "<IterationCount>2000000000<");
  assertEquals(await rowsOf(text, { password: "qwerty" }), ["too_much_derivation"]);
});

Deno.test("PSKC: a tag with very many attributes is refused after the first piece of the file", async () => {
  const attributes = Array.from({ length: 60_000 }, (_, at) => `a${at}=""`).join(" ");
  let pieces = 0;
  const pause = () => Promise.resolve(void pieces++);
  assertEquals(await readSeedFile(`<KeyContainer ${attributes}/>`, { options: NO_OPTIONS, pause }), {
    ok: false,
    problem: "broken_xml",
  });
  assertEquals(pieces, 0);
});

Deno.test("CSV: reading ends soon after the largest number of rows", async () => {
  let pieces = 0;
  const pause = () => Promise.resolve(void pieces++);
  const text = "a\n".repeat(1_000_000);
  assertEquals(await readSeedFile(text, { options: NO_OPTIONS, pause }), {
    ok: false,
    problem: "too_many_tokens",
  });
  assertEquals(pieces, 0);
});

Deno.test("a file over 16 MiB and one with over 20,000 tokens are refused", async () => {
  assertEquals(await rowsOf("x".repeat(MAX_SEED_FILE_CHARACTERS + 1)), ["file_too_large"]);
  const rows = Array.from({ length: 20_002 }, (_, at) => `T${at},${SEED}`).join("\n");
  assertEquals(await rowsOf(rows), ["too_many_tokens"]);
  const one = /<p:KeyPackage>[^]*<\/p:KeyPackage>/.exec(container())?.[0] ?? "";
  const many = container().replace(one, "<p:KeyPackage/>".repeat(20_001));
  assertEquals(await rowsOf(many), ["too_many_tokens"]);
});

Deno.test("readSeedFile() ends with a result for every changed file, and shows no seed", async () => {
  const texts = [
    await figure(3),
    await figure(6),
    ...SEED_TABLES.map(([, text]) => text),
    container({ data: plain("Counter", "1") }),
  ];
  const change = fc.record({
    text: fc.constantFrom(...texts),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.integer({ min: 0, max: 40 }),
    insert: fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom("<", ">", "&", "]]>", "<![CDATA[", "\0", '"', ",", "\n", "__proto__", "\ud800"),
    ),
  });
  await fc.assert(
    fc.asyncProperty(change, async ({ text, at, remove, insert }) => {
      const from = Math.floor(at * text.length);
      const changed = text.slice(0, from) + insert + text.slice(from + remove);
      const file = await read(changed, { key: KEY });
      if (!file.ok) return;
      for (const { serial, user, token, problem } of file.rows) {
        assertEquals(token === null, problem !== null);
        assertNotMatch(`${serial} ${user}`, /31323334353637383930313233|GEZDGNBVGY3TQOJQGEZDGNBVGY/i);
      }
    }),
    { numRuns: 400, seed: 6030 },
  );
});

// The CSV forms of vendors and of other servers, and rows with problems.

for (const [what, text, options, expected] of SEED_TABLES) {
  Deno.test(`CSV: ${what}`, async () => {
    assertEquals(await rowsOf(text, options), expected);
  });
}

Deno.test("CSV: a serial number of dots is refused: no address could name the token", async () => {
  const rows = [".", "..", ". .", "a."].map((serial) => `${serial},${SEED},hotp`).join("\n");
  const file = await read(rows);
  assertEquals(file.ok && file.rows.map(({ problem }) => problem), ["bad_serial", "bad_serial", null, null]);
});

Deno.test("CSV: a seed in another column than expected is not shown", async () => {
  const swapped = [`${SEED},T1\n`, `secret,serial\nT1,${BASE32}\n`, `upn,serial,secret\n${SEED},T1,x\n`];
  for (const text of swapped) assertNotMatch((await rowsOf(text)).join(), /31323334|GEZDGNBV/);
});
