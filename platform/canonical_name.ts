// Canonical names of users and groups. The gateway and SCIM compare and find names in this form.

const LOWER_ASCII = /^[^A-Z\u0080-\uffff]*$/;
const ASCII = /^[^\u0080-\uffff]*$/;

/** A name in NFC and lower case. The canonical form of a canonical name is that name. */
export function canonicalName(name: string): string {
  // Nearly every name is ASCII and in lower case. Unicode normalisation is expensive, and a group has tens of thousands of names.
  if (LOWER_ASCII.test(name)) return name;
  if (ASCII.test(name)) return name.toLowerCase();
  // Composed again, because a lower-case letter may have a composed form that its upper-case letter lacks ("Ϊ́").
  return name.normalize("NFC").toLowerCase().normalize("NFC");
}

/** Format characters (zero-width space, soft hyphen, bidirectional marks …) and NUL: two names that look the same would differ. */
const INVISIBLE = /[\p{Cf}\0]/u;

/** Whether a name begins or ends with a blank, or contains a format character or NUL: it can look like another name. */
export function isDeceptiveName(name: string): boolean {
  return name !== name.trim() || INVISIBLE.test(name);
}
