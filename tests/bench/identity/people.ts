// The people of the measurements, the same for every server: computed from a number, so that processes need not
// exchange them.

import type { JsonObject, UserContent } from "../../../scim/schema/resource.ts";

/** One person. Given names repeat after 256 people and family names after 4,096, spread over all of them. */
export interface Person {
  readonly userName: string;
  readonly givenName: string;
  readonly familyName: string;
  /** The person's number with eight digits: a word that no other person has. */
  readonly number: string;
}

const STARTS = [..."bdfghjklmnprstvz"];
const ENDS = ["a", "e", "i", "o", "u", "an", "en", "in", "on", "un", "ar", "el", "is", "or", "us", "ea"];

/** A bijection of 32 bits, so that adjacent numbers get different names. */
function scattered(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** One syllable from eight bits: a start and an end of four bits each. */
function syllable(bits: number): string {
  return `${STARTS[(bits >>> 4) & 15] ?? ""}${ENDS[bits & 15] ?? ""}`;
}

/** @param index from 0 to 99,999,999; different people for different numbers. */
export function personAt(index: number): Person {
  const bits = scattered(index);
  const givenName = capital(syllable(bits & 0xf0) + syllable((bits << 4) & 0xf0));
  const familyName = capital(syllable((bits >>> 8) & 0xff) + syllable((bits >>> 12) & 0xf0));
  const number = String(index).padStart(8, "0");
  return {
    userName: `${givenName}.${familyName}.${number}`.toLowerCase(),
    givenName,
    familyName,
    number,
  };
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/**
 * The attributes of an employee in a directory; `edition` changes the title, for replacements that change something.
 */
export function attributesOf(person: Person, { edition = 0 }: { edition?: number } = {}): JsonObject {
  const { userName, givenName, familyName, number } = person;
  const digits = number.slice(1);
  return {
    name: { familyName, givenName, formatted: `${givenName} ${familyName}` },
    displayName: `${givenName} ${familyName}`,
    title: edition === 0 ? "Engineer" : `Engineer ${edition}`,
    userType: "Employee",
    preferredLanguage: "en",
    emails: [{ value: `${userName}@example.org`, type: "work", primary: true }],
    phoneNumbers: [{ value: `+49 171 ${digits}`, type: "mobile" }],
    addresses: [{ streetAddress: `${Number(digits) % 200} High Street`, locality: "Bonn", country: "DE" }],
  };
}

/** The body of a POST or PUT. */
export function userBody(person: Person, options: { edition?: number } = {}): string {
  return JSON.stringify({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    userName: person.userName,
    ...attributesOf(person, options),
    active: true,
  });
}

export function userContent(person: Person): UserContent {
  return { kind: "user", name: person.userName, active: true, attributes: attributesOf(person) };
}

/** The person as an entry of an LDAP directory (RFC 2849). */
export function ldifOf(person: Person, usersDn: string): string {
  const { userName, givenName, familyName, number } = person;
  return `dn: uid=${userName},${usersDn}
objectClass: inetOrgPerson
uid: ${userName}
cn: ${givenName} ${familyName}
sn: ${familyName}
givenName: ${givenName}
displayName: ${givenName} ${familyName}
title: Engineer
mail: ${userName}@example.org
telephoneNumber: +49 171 ${number.slice(1)}
`;
}

/** The group whose members change. */
export const GROUP = "everybody";
export const GROUP_SIZE = 10_000;

/** Half of the people, and unknown names where they are too few for {@link GROUP_SIZE}. */
export function groupMembers(users: number): string[] {
  const real = Math.min(GROUP_SIZE, users >> 1);
  return Array.from(
    { length: GROUP_SIZE },
    (_, at) => at < real ? personAt(at).userName : `guest.${String(at).padStart(6, "0")}`,
  );
}

/** The first person who is not a member. */
export function firstOutsider(users: number): number {
  return Math.min(GROUP_SIZE, users >> 1);
}
