//! Links in a row, as a tuple.

use std::borrow::Cow;

use crate::axis::Axis;
use crate::tracer::Tracer;
use crate::transform::Transform;
use crate::value::Value;

/// Links in a row, first applied first. Built by [`chain`].
#[derive(Clone, Debug)]
pub struct Chain<Links>(Links);

/// Links in a row, in data-flow order: a tuple of up to 12. Chains nest in chains.
///
/// # Example
/// ```
/// use pergrad_transforms::prelude::*;
/// let sign_ema = chain((mean(), ema(0.9).debias(false), sign(), scale(-1e-3)));
/// assert!(program(&sign_ema).is_ok());
/// ```
pub fn chain<Links>(links: Links) -> Chain<Links> {
    Chain(links)
}

macro_rules! impl_chain {
    ($last:ident $last_at:tt $out:ty; $($link:ident $at:tt: $input:ty),*) => {
        impl<In, $($link,)* $last> Transform<In> for Chain<($($link,)* $last,)>
        where
            In: Axis,
            $($link: Transform<$input>,)*
            $last: Transform<$out>,
        {
            type Out = $last::Out;

            fn trace(&self, x: Value<In>, cx: &mut Tracer) -> Value<Self::Out> {
                $(let x = cx.apply(&self.0.$at, x);)*
                cx.apply(&self.0.$last_at, x)
            }

            fn name(&self) -> Option<Cow<'static, str>> {
                None
            }
        }
    };
}

impl_chain!(A 0 In;);
impl_chain!(B 1 A::Out; A 0: In);
impl_chain!(C 2 B::Out; A 0: In, B 1: A::Out);
impl_chain!(D 3 C::Out; A 0: In, B 1: A::Out, C 2: B::Out);
impl_chain!(E 4 D::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out);
impl_chain!(F 5 E::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out, E 4: D::Out);
impl_chain!(G 6 F::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out, E 4: D::Out, F 5: E::Out);
impl_chain!(H 7 G::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out, E 4: D::Out, F 5: E::Out, G 6: F::Out);
impl_chain!(I 8 H::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out, E 4: D::Out, F 5: E::Out, G 6: F::Out, H 7: G::Out);
impl_chain!(J 9 I::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out, E 4: D::Out, F 5: E::Out, G 6: F::Out, H 7: G::Out, I 8: H::Out);
impl_chain!(K 10 J::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out, E 4: D::Out, F 5: E::Out, G 6: F::Out, H 7: G::Out, I 8: H::Out, J 9: I::Out);
impl_chain!(L 11 K::Out; A 0: In, B 1: A::Out, C 2: B::Out, D 3: C::Out, E 4: D::Out, F 5: E::Out, G 6: F::Out, H 7: G::Out, I 8: H::Out, J 9: I::Out, K 10: J::Out);
