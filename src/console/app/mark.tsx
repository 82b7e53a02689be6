/** The mark: a flame on its bowl. */

export function Mark({ size }: { readonly size: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path
        d="M16.8 3.500c1.400 4.800-6.600 7.800-6.600 14.600a6.200 6.200 0 0 0 2.900 5.300c-.6-4 1.700-5.800 3.300-8.600 2.400 2.300 4.100 4.800 3.900 8.500 2.100-1.200 3.400-3.400 3.400-5.800 0-4.300-3.400-6.700-3.800-10.200-.9 1-1.100 1.900-1.100 3-1.500-1.900-2.100-4.100-2-6.800Z"
        fill="var(--color-ember)"
      />
      <path d="M8.500 27.500h15" stroke="var(--color-ember)" stroke-width="2.200" stroke-linecap="round" />
    </svg>
  );
}
