// CSV seed files as vendors deliver them, with what is read.

import type { SeedFileOptions } from "../../../radius/tokens/files/seed_rows.ts";
import { BASE32, SEED } from "./seed_reading.ts";

/** The CSV forms: the source of the form, the text, the options, and what is read. */
export const SEED_TABLES:
  readonly (readonly [string, string, Partial<SeedFileOptions>, readonly string[]])[] = [
    [
      "Entra ID, Token2, Deepnet",
      `upn,serial number,secret key,time interval,manufacturer,model\nada@example.com,1234567,${BASE32.toLowerCase()},60,Contoso,HardwareKey\n`,
      {},
      [`1234567 of ada@example.com: totp 6 60 s SHA1 ${SEED}`],
    ],
    [
      "Deepnet without users, with semicolons and a byte order mark",
      `\ufeffserial number;secret key;timeinterval;manufacturer\r\n10001001;${BASE32};30;Deepnet Security\r\n`,
      {},
      [`10001001: totp 6 30 s SHA1 ${SEED}`],
    ],
    [
      "a table with a counter",
      `Serial,Seed,Counter,OTP Length\nA1,${SEED},7,8\n`,
      {},
      [`A1: hotp 8 at 7 SHA1 ${SEED}`],
    ],
    [
      "privacyIDEA and NetIQ",
      `Token001, ${SEED}\nToken002, ${SEED}, totp, 8\nToken003, ${SEED}, hotp, 6, 12\nToken004, ${SEED}, totp, 6, 60\n# a comment\nToken005, ${SEED}, ocra, 6\n`,
      {},
      [
        `Token001: hotp 6 at 0 SHA1 ${SEED}`,
        `Token002: totp 8 30 s SHA1 ${SEED}`,
        `Token003: hotp 6 at 12 SHA1 ${SEED}`,
        `Token004: totp 6 60 s SHA1 ${SEED}`,
        "Token005: other_kind",
      ],
    ],
    [
      "privacyIDEA with users",
      `# version: 2\nada, resolver, realm, Token001, ${SEED}, totp, 6, 30\n`,
      {},
      [`Token001 of ada: totp 6 30 s SHA1 ${SEED}`],
    ],
    ["Duo, HOTP with a counter", `123456,${SEED},5\n`, {}, [`123456: hotp 6 at 5 SHA1 ${SEED}`]],
    ["Duo, TOTP with a time step", `123456,${SEED},60\n`, { kind: "totp" }, [
      `123456: totp 6 60 s SHA1 ${SEED}`,
    ]],
    [
      "two columns, with options",
      `T1\t${BASE32}\nT2\t${BASE32}\n`,
      { kind: "totp", digits: 8, periodS: 60, algorithm: "SHA256" },
      [`T1: totp 8 60 s SHA256 ${SEED}`, `T2: totp 8 60 s SHA256 ${SEED}`],
    ],
    [
      "YubiKey, traditional format",
      `Yubico OTP,12/11/2013 11:10,1,vvgutbiedkvi,ab86c04de6a3,d26a7c0f85fdda28bd816e406342b214,,,0,0,0,0,0,0,0,0,0,0\nOATH-HOTP,11.12.13 18:55,1,cccccccccccc,,${SEED},,,0,0,0,6,0,0,0,0,0,0\n`,
      {},
      ["vvgutbiedkvi: other_kind", "cccccccccccc: types_identifier"],
    ],
    [
      "YubiKey, Yubico format",
      `508326,,0,${SEED},000000000000,2013-12-12T08:41:07,\n508327,cccccccccccc,83cebdfb7b93,a47c5bf9c152202f577be6721c0113af,,2013-12-12T08:43:17,\n`,
      {},
      [`508326: hotp 6 at 0 SHA1 ${SEED}`, "508327: other_kind"],
    ],
    ["base64", `T1,MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=,hotp\n`, { encoding: "base64" }, [
      `T1: hotp 6 at 0 SHA1 ${SEED}`,
    ]],
    ["no table", "just a text\nof two lines", {}, ["unknown_format"]],
    ["nothing", " \n", {}, ["empty_file"]],
    [
      "rows with problems",
      `serial,secret\n,${SEED}\n/etc,${SEED}\nT1,\nT2,xyz-\nT3,31323334\nT4,${
        "31".repeat(129)
      }\nT5,${SEED}\nt5,${SEED}\n"T6,${SEED}`,
      {},
      [
        ...[
          ": no_serial",
          "/etc: bad_serial",
          "T1: no_seed",
          "T2: bad_seed",
          "T3: short_seed",
          "T4: long_seed",
        ],
        `T5: totp 6 30 s SHA1 ${SEED}`,
        ...["t5: repeated", ": broken_row"],
      ],
    ],
  ];
