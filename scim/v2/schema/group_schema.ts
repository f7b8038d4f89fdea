// The core schema of groups (RFC 7643 §4.2, §8.7.1), and the enterprise extension of users (RFC 7643 §4.3).

import { ENTERPRISE_SCHEMA, GROUP_SCHEMA } from "../../schema/attribute_table.ts";
import { defineAttribute, type SchemaDefinition } from "./attribute_definition.ts";

const GROUP = "RFC 7643 §4.2";
const ENTERPRISE = "RFC 7643 §4.3";

/** RFC 7643 §4.2. */
export const GROUP_DEFINITION: SchemaDefinition = {
  id: GROUP_SCHEMA,
  name: "Group",
  description: "A group of users.",
  attributes: [
    // RFC 7643 §8.7.1 says uniqueness none. Here a group is addressed by its name, so the name is unique.
    defineAttribute("displayName", "The name of the group.", {
      required: true,
      uniqueness: "server",
      ref: GROUP,
    }),
    defineAttribute("members", "The members of the group.", {
      type: "complex",
      multiValued: true,
      ref: GROUP,
      subAttributes: [
        defineAttribute("value", "The id of the member.", {
          caseExact: true,
          mutability: "immutable",
          ref: GROUP,
        }),
        defineAttribute("$ref", "The URL of the member.", {
          type: "reference",
          referenceTypes: ["User", "Group"],
          caseExact: true,
          mutability: "immutable",
          ref: GROUP,
        }),
        defineAttribute("type", "The resource type of the member.", {
          canonicalValues: ["User", "Group"],
          mutability: "immutable",
          ref: GROUP,
        }),
        // RFC 7643 §8.7.1 does not list it. A client that sends members compares them with the answer, so it has to ask for it.
        defineAttribute("display", "The name of the member.", {
          mutability: "readOnly",
          returned: "request",
          ref: "RFC 7643 §2.4",
        }),
      ],
    }),
  ],
};

/** RFC 7643 §4.3. */
export const ENTERPRISE_DEFINITION: SchemaDefinition = {
  id: ENTERPRISE_SCHEMA,
  name: "EnterpriseUser",
  description: "What organisations record about their users.",
  attributes: [
    defineAttribute("employeeNumber", "The number of the employee.", { ref: ENTERPRISE }),
    defineAttribute("costCenter", "The name of the cost center.", { ref: ENTERPRISE }),
    defineAttribute("organization", "The name of the organisation.", { ref: ENTERPRISE }),
    defineAttribute("division", "The name of the division.", { ref: ENTERPRISE }),
    defineAttribute("department", "The name of the department.", { ref: ENTERPRISE }),
    defineAttribute("manager", "The manager of the user.", {
      type: "complex",
      ref: ENTERPRISE,
      subAttributes: [
        // RFC 7643 §4.3 recommends value and $ref. §8.7.1 requires them, but clients send only one of them.
        defineAttribute("value", "The id of the manager.", { caseExact: true, ref: ENTERPRISE }),
        defineAttribute("$ref", "The URL of the manager.", {
          type: "reference",
          referenceTypes: ["User"],
          caseExact: true,
          ref: ENTERPRISE,
        }),
        defineAttribute("displayName", "The name of the manager.", {
          mutability: "readOnly",
          ref: ENTERPRISE,
        }),
      ],
    }),
  ],
};
