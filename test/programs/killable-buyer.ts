/**
 * A buyer with a limit of a day that buys one numbered request, for `bench crash`. Run as
 * `node killable-buyer.js URL KEY PAY_TO FOLDER NUMBER`.
 */
import { createBuyer } from '../../buyer/library/buyer.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import { readArguments } from '../support/arguments.ts'

/** Far above the payments of a folder, so the limit is computed and never reached. */
const AMOUNT_PER_DAY_MAX = 1_000_000_000

const [url = '', key = '', payTo = '', folder = '', index = ''] = readArguments('URL KEY PAY_TO FOLDER NUMBER')
const { network, asset, domain } = DEPLOYMENTS.testnet
const limits = { amountMax: resolve.prices.testnet, amountPerDayMax: AMOUNT_PER_DAY_MAX }
const buyer = createBuyer({ key, folder, expected: { network, asset, domain, payTo, ...limits } })
const body = JSON.stringify({ name: `Alpha Sample ${index} Limited` })
const response =
  Number(index) % 2 === 0
    ? await buyer.fetch(`${url}/api/v1/search?q=alpha%20sample%20${index}`)
    : await buyer.fetch(`${url}/api/v1/resolve`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      })
const check = response.headers.get('Receipt-Check')
if (response.status !== 200 || check !== 'valid') throw new Error(`Request ${index}: ${response.status}, ${check}`)
