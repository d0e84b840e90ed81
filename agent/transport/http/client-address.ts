/**
 * The network address of a client and its prefixes, for limits: an IPv4 address, or the /64 prefix of an IPv6 address,
 * which is what one customer of a provider has. `X-Forwarded-For` counts only as far as proxies are trusted.
 */
import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { headerValues } from './request.ts'

/** What networks are given, from the widest to the narrowest (contract 6.2.9). */
const IPV4_WIDTHS = [24, 32]
const IPV6_WIDTHS = [32, 48, 56, 64]

/**
 * Each trusted proxy appends the address that it received the request from, so entries count from the right. A client
 * can write any entries to the left of them.
 */
export function clientPrefixes(request: IncomingMessage, trustedProxies: number): readonly string[] {
  let client = prefixesOf(request.socket.remoteAddress ?? '') ?? []
  const forwarded = headerValues(request, 'X-Forwarded-For').flatMap((value) => value.split(','))
  for (const entry of forwarded.toReversed().slice(0, trustedProxies)) {
    const prefixes = prefixesOf(entry)
    // If a proxy writes no address, its own address counts for all its clients.
    if (prefixes === undefined) break
    client = prefixes
  }
  return client
}

/**
 * The prefixes of an address, the widest first; the last one is the client. Accepts a port and brackets, which some
 * proxies write. Undefined if the text is not an address.
 */
export function prefixesOf(text: string): readonly string[] | undefined {
  const [, bracketed, withPort] = /^\[([^\]]*)\](?::[0-9]+)?$|^([0-9.]+):[0-9]+$/.exec(text.trim()) ?? []
  const sent = bracketed ?? withPort ?? text.trim()
  // `ipaddr.js` also accepts other forms of IPv4, such as octal numbers.
  if (!isIPv4(sent) && !isIPv6(sent)) return undefined
  // An IPv4 address in IPv6 form (`::ffff:a.b.c.d`) is the same client as over IPv4.
  const address = ipaddr.process(sent.replace(/%.*$/, ''))
  const isIpv4 = address.kind() === 'ipv4'
  const family = isIpv4 ? ipaddr.IPv4 : ipaddr.IPv6
  return (isIpv4 ? IPV4_WIDTHS : IPV6_WIDTHS).map(
    (width) => `${family.networkAddressFromCIDR(`${address.toString()}/${width}`).toString()}/${width}`,
  )
}
