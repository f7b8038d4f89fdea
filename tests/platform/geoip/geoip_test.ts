// Country and network of addresses: the fields of several vendors, files that change, and files that cannot be used.

import { assertEquals } from "@std/assert";
import { GeoIp } from "../../../platform/geoip/geoip.ts";
import { createLog } from "../../../platform/log.ts";
import { type MmdbFile, mmdbFile } from "../../fakes/mmdb_file.ts";
import { createManualClock } from "../../fakes/console_app.ts";

interface FakeFile {
  octets: Uint8Array;
  changedMs: number;
  size?: number;
  hangs?: boolean;
}

function start(files: Record<string, FakeFile>, paths = Object.keys(files)) {
  const clock = createManualClock();
  const lines: string[] = [];
  const reads: string[] = [];
  const write = (octets: Uint8Array) => void lines.push(new TextDecoder().decode(octets));
  const geoIp = new GeoIp({
    paths,
    clock,
    log: createLog({ format: "text", level: "warn", clock, write }),
    files: {
      stat(path) {
        const file = files[path];
        if (file === undefined) return Promise.reject(new Deno.errors.NotFound());
        return Promise.resolve({ size: file.size ?? file.octets.length, mtime: new Date(file.changedMs) });
      },
      read(path) {
        reads.push(path);
        const file = files[path];
        if (file?.hangs === true) return new Promise(() => undefined);
        return Promise.resolve(file?.octets ?? new Uint8Array());
      },
    },
  });
  return { clock, geoIp, files, lines, reads };
}

const file = (networks: MmdbFile["networks"], changedMs = 0): FakeFile => ({
  octets: mmdbFile({ networks }),
  changedMs,
});
const NET = "198.51.100.0/24";
const HERE = "198.51.100.7";

Deno.test("GeoIp.locate() reads the fields of MaxMind, DB-IP and IPinfo", async () => {
  const rows = [
    [{ country: { iso_code: "DE" } }, { country: "DE", asn: null, network: null }],
    [
      { country_code: "US", asn: "AS13335", as_name: "Example, Inc." },
      { country: "US", asn: 13335, network: "Example, Inc." },
    ],
    [{ country: "FR" }, { country: "FR", asn: null, network: null }],
    [
      { autonomous_system_number: 64500, autonomous_system_organization: "Example Net" },
      { country: null, asn: 64500, network: "Example Net" },
    ],
    [{ country: { iso_code: "Germany" } }, null],
    [{ country: { iso_code: "<b>" }, asn: "ASx" }, null],
    [["a list"], null],
  ] as const;
  for (const [record, expected] of rows) {
    const { geoIp } = start({ "/a": file({ [NET]: record }) });
    await geoIp.check();
    assertEquals(geoIp.locate(HERE), expected, JSON.stringify(record));
  }
});

Deno.test("GeoIp.locate() joins two databases, and looks up no private address and no other text", async () => {
  const everything = { "0.0.0.0/1": { country: { iso_code: "DE" } } };
  const { geoIp } = start({ "/a": file(everything), "/b": file({ "0.0.0.0/1": { asn: "AS1" } }) });
  await geoIp.check();
  assertEquals(geoIp.locate(" 8.8.8.8 "), { country: "DE", asn: 1, network: null });
  assertEquals(geoIp.locate("::ffff:8.8.8.8")?.country, "DE");
  for (
    const other of ["10.1.2.3", "127.0.0.1", "100.64.0.1", "", "aa-bb-cc-dd-ee-ff", "8.8.8.8:80", "08.8.8.8"]
  ) {
    assertEquals(geoIp.locate(other), null, other);
  }
});

Deno.test("GeoIp reads a changed file again, and keeps the earlier one while the file cannot be used", async () => {
  const files: Record<string, FakeFile> = { "/a": file({ [NET]: { country: "DE" } }) };
  const { geoIp, clock, lines, reads } = start(files);
  const later = async () => {
    clock.advance(60_000);
    await geoIp.check();
    // The timer's own check may be in progress.
    await new Promise((resolve) => setTimeout(resolve));
    return [geoIp.locate(HERE)?.country, geoIp.files()[0]?.problem];
  };
  await geoIp.start();
  assertEquals(await later(), ["DE", null]);
  assertEquals(reads.length, 1, "an unchanged file is read once");
  files["/a"] = file({ [NET]: { country: "FR" } }, 1);
  assertEquals(await later(), ["FR", null]);
  files["/a"] = { octets: new Uint8Array(9), changedMs: 2 };
  assertEquals(await later(), ["FR", "not_mmdb"]);
  files["/a"] = { ...file({}), size: 300 * 2 ** 20, changedMs: 3 };
  assertEquals(await later(), ["FR", "too_large"]);
  delete files["/a"];
  assertEquals(await later(), ["FR", "missing"]);
  assertEquals(await later(), ["FR", "missing"]);
  assertEquals(lines.length, 3, "each problem is logged once");
  files["/a"] = file({ [NET]: { country: "IT" } }, 4);
  assertEquals(await later(), ["IT", null]);
  geoIp.stop();
});

Deno.test("GeoIp gives up on a file that cannot be read within 30 seconds", async () => {
  const { geoIp, clock } = start({ "/a": { ...file({}), hangs: true } });
  const checked = geoIp.check();
  await new Promise((resolve) => setTimeout(resolve));
  clock.advance(30_000);
  await checked;
  assertEquals(geoIp.files().map(({ problem }) => problem), ["slow"]);
});

Deno.test("GeoIp without a path is not configured", async () => {
  const { geoIp } = start({}, ["", ""]);
  await geoIp.start();
  assertEquals([geoIp.isConfigured, geoIp.locate("8.8.8.8"), geoIp.files()], [false, null, []]);
});
