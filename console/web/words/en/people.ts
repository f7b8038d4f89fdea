// Words of the pages of users, in English.

export const words = {
  title: "people",
} as const;
