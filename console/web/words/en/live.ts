// Words of the live board, the inspector and explanations, in English.

export const words = {
  title: "live",
} as const;
