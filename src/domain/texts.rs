//! Every text in a value, found by its type: a field that no code names is found too.
//!
//! The walk uses the serialised form of a value, in the variant that is not for people. In that form an id is bytes, a
//! variant of an enum is a number, and only what can hold words is a text.

use std::fmt;

use serde::Serialize;
use serde::ser;

/// Calls `found` with each text of a value and the field in which it stands, such as `trigger.paths`. The keys of a map
/// are texts as well. Its values stand in the field of the map, because a key may be written by an agent. The fields of
/// the value itself keep their names in each form, as some structs are written as maps. An entry of a list of several
/// has its number, from 1: `scopes.2`.
pub fn each_text(value: &impl Serialize, mut found: impl FnMut(&str, &str)) {
    value.serialize(&mut Walk::new(&mut found)).expect("the walk refuses no form of data");
}

struct Walk<'f> {
    /// The path of the field whose value comes next; empty for the whole value.
    field: String,
    /// The key of a map whose value comes next.
    key: String,
    found: &'f mut dyn FnMut(&str, &str),
}

impl<'f> Walk<'f> {
    fn new(found: &'f mut dyn FnMut(&str, &str)) -> Self {
        Self { field: String::new(), key: String::new(), found }
    }

    fn within<T: Serialize + ?Sized>(&mut self, field: &str, value: &T) -> Result<(), fmt::Error> {
        let outer = self.field.len();
        if outer > 0 {
            self.field.push('.');
        }
        self.field.push_str(field);
        value.serialize(&mut *self)?;
        self.field.truncate(outer);
        Ok(())
    }
}

macro_rules! without_text {
    ($($method:ident($($ty:ty),*);)+) => {
        $(fn $method(self, $(_: $ty),*) -> Result<(), fmt::Error> {
            Ok(())
        })+
    };
}

impl<'a, 'f> ser::Serializer for &'a mut Walk<'f> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = List<'a, 'f>;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    // Ids are bytes where the form is not for people.
    fn is_human_readable(&self) -> bool {
        false
    }

    without_text! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    fn serialize_char(self, text: char) -> Result<(), fmt::Error> {
        self.serialize_str(text.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), fmt::Error> {
        (self.found)(&self.field, text);
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<List<'a, 'f>, fmt::Error> {
        Ok(List { walk: self, is_numbered: len.is_some_and(|len| len > 1), before: 0 })
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, fmt::Error> {
        Ok(self)
    }
}

/// The entries of a list.
struct List<'a, 'f> {
    walk: &'a mut Walk<'f>,
    is_numbered: bool,
    before: usize,
}

impl ser::SerializeSeq for List<'_, '_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.before += 1;
        match self.is_numbered && !self.walk.field.is_empty() {
            true => self.walk.within(&self.before.to_string(), value),
            false => value.serialize(&mut *self.walk),
        }
    }

    fn end(self) -> Result<(), fmt::Error> {
        Ok(())
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident;)+) => {
        $(impl ser::$trait for &mut Walk<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), fmt::Error> {
                Ok(())
            }
        })+
    };
}

elements! {
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

macro_rules! fields {
    ($($trait:ident)+) => {
        $(impl ser::$trait for &mut Walk<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), fmt::Error> {
                self.within(name, value)
            }

            fn end(self) -> Result<(), fmt::Error> {
                Ok(())
            }
        })+
    };
}

fields!(SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for &mut Walk<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        self.key.clear();
        let text = &mut self.key;
        key.serialize(&mut Walk::new(&mut |_, key| text.push_str(key)))?;
        (self.found)(&self.field, &self.key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        if self.field.is_empty() {
            let key = std::mem::take(&mut self.key);
            return self.within(&key, value);
        }
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), fmt::Error> {
        Ok(())
    }
}
