// What the console uses of the library for QR codes, in a file of its own that comes with the first one.

export { encode } from "uqr";
