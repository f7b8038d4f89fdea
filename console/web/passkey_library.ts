// What the console uses of the library for passkeys, in a file of its own that comes when one is used.

export { startAuthentication, startRegistration } from "@simplewebauthn/browser";
