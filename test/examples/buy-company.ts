// The example of docs/payments.md, word for word but for the path of the import.
import { createBuyer } from '../../buyer/library/buyer.ts'

/** Buys one company record. A second call with the same folder is not charged and returns the same bytes. */
export async function buyCompany(url: string, payTo: string, key: `0x${string}`, folder: string) {
  const network = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
  const terms = { ...network, domain: { name: 'USDC', version: '2' }, payTo, amountMax: 5000 } // micro-USDC
  const buyer = createBuyer({ key, folder, expected: terms })
  const response = await buyer.fetch(url) // a standard Response
  if (!response.ok) throw new Error(await response.text())
  return response.text()
}
