/** The exit codes of the command. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  invalid: 5,
  interrupted: 130,
  terminated: 143,
} as const;
