// Words of the audit, in English.

export const words = {
  title: "govern",
} as const;
