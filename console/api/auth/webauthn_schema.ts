// Schemas of passkey responses (WebAuthn Level 3 §5.1.8). They bound each text, so that no large input reaches the library that
// verifies them.

import * as v from "valibot";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";

const octets = (maxCharacters: number) =>
  v.pipe(v.string(), v.maxLength(maxCharacters), v.regex(/^[A-Za-z0-9_-]*$/));
const ID = octets(1400);
const BODY = octets(16_384);
const COMMON = {
  id: ID,
  rawId: ID,
  type: v.literal("public-key"),
  authenticatorAttachment: v.optional(v.picklist(["cross-platform", "platform"])),
  // Extension results are not used.
  clientExtensionResults: v.pipe(v.unknown(), v.transform(() => ({}))),
};

/** The result of `navigator.credentials.create()`. */
export const REGISTRATION: v.GenericSchema<unknown, RegistrationResponseJSON> = v.object({
  ...COMMON,
  response: v.object({
    clientDataJSON: BODY,
    attestationObject: BODY,
    transports: v.optional(
      v.pipe(
        v.array(v.picklist(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"])),
        v.maxLength(8),
      ),
    ),
  }),
});

/** The result of `navigator.credentials.get()`. */
export const AUTHENTICATION: v.GenericSchema<unknown, AuthenticationResponseJSON> = v.object({
  ...COMMON,
  response: v.object({
    clientDataJSON: BODY,
    authenticatorData: BODY,
    signature: BODY,
    userHandle: v.optional(octets(256)),
  }),
});
