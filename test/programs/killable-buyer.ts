/**
 * A buyer that buys one numbered request after another until it is killed, for `bench buyer-kill`. Run as
 * `node killable-buyer.js URL KEY PAY_TO FOLDER FIRST [LAST]`. Prints `ready`, and `bought N` after each answer.
 */
import { createBuyer } from '../../agent/buyer/library/buyer.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { resolve } from '../../agent/operation/resolve.ts'

/** Far above the payments of a folder, so the limit is computed and never reached. */
const AMOUNT_PER_DAY_MAX = 1_000_000_000

const [url = '', key = '', payTo = '', folder = '', first = '', last = 'Infinity'] = process.argv.slice(2)
const { network, asset, domain } = DEPLOYMENTS.testnet
const limits = { amountMax: resolve.prices.testnet, amountPerDayMax: AMOUNT_PER_DAY_MAX }
const buyer = createBuyer({ key: key as `0x${string}`, folder, expected: { network, asset, domain, payTo, ...limits } })

function buy(index: number): Promise<Response> {
  if (index % 2 === 0) return buyer.fetch(`${url}/api/v1/search?q=alpha%20sample%20${index}`)
  const body = JSON.stringify({ name: `Alpha Sample ${index} Limited` })
  return buyer.fetch(`${url}/api/v1/resolve`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
}

process.stdout.write('ready\n')
for (let index = Number(first); index <= Number(last); index += 1) {
  const response = await buy(index)
  const check = response.headers.get('Receipt-Check')
  if (response.status !== 200 || check !== 'valid') throw new Error(`Request ${index}: ${response.status}, ${check}`)
  process.stdout.write(`bought ${index}\n`)
}
