// Words of history and charts, in English.

export const words = {
  title: "records",
} as const;
