/** Reads from the gateways' metrics how many limit checks they have skipped since they started. */
export async function readUnchecked(metricsUrls: readonly string[]): Promise<number> {
  const texts = await Promise.all(metricsUrls.map(async (url) => (await fetch(url)).text()))
  const counts = texts.flatMap((text) => [...text.matchAll(/^nextvisit_gateway_unchecked_total\{.*\} (\d+)$/gm)])
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}
