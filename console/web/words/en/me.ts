// Words of a person's own page, in English.

export const words = {
  title: "me",
} as const;
