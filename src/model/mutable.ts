/** The same with members that may be changed: for whoever fills in what others only read. */
export type Mutable<T> = { -readonly [N in keyof T]: T[N] };
